"use strict";
// Tables sort by a click on a column's head; a search field hides the rows that lack its words.
for (const head of document.querySelectorAll("table.sorts th")) {
  head.firstElementChild.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const upwards = head.getAttribute("aria-sort") === "descending";
    const value = (row) => {
      const cell = row.cells[head.cellIndex];
      return head.classList.contains("n") ? Number(cell.dataset.value ?? -1) : cell.textContent;
    };
    const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
    body.append(...[...body.rows].sort((a, b) => (upwards ? order(a, b) : order(b, a))));
  });
}
for (const field of document.querySelectorAll("input[type=search]")) {
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of document.getElementById(field.dataset.table).tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
