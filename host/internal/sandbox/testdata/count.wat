;; Computes as much before a wait as after it.
(module
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "done")
  (func $count (local $i i32)
    (loop $next
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 300000)))))
  (func (export "reprise_run") (result i32)
    (call $count)
    (i32.store (i32.const 8) (call $timer (i64.const 1)))
    (drop (call $wait (i32.const 8) (i32.const 1) (i64.const -1) (i32.const 16) (i32.const 1)))
    (call $count)
    (call $output (i32.const 0) (i32.const 4))
    (i32.const 0)))
