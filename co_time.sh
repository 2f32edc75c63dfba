for r in 1 2 3 4; do for n in orig origdt plan; do
 v=$(nice -n -5 iree-benchmark-module --module=/tmp/s3/co_$n.vmfb --device=local-sync --function=main --input=5000x4xf32=1 --input=4x5000xf32=1 --input=16x5000xf32=1 --benchmark_repetitions=12 $EXTRA 2>/dev/null | grep -o 'real_time_median *[0-9.]* ms *[0-9.]* ms')
 echo "$r $n $v"; done; done
