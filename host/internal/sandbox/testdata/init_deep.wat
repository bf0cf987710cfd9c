;; Its initialisation makes 5,000 nested calls.
(module
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (memory (export "memory") 1)
  (func $nested (param $n i32) (result i32)
    (if (i32.le_s (local.get $n) (i32.const 1)) (then (return (local.get $n))))
    (i32.add (i32.const 1) (call $nested (i32.sub (local.get $n) (i32.const 1)))))
  (func (export "_initialize")
    (i32.store (i32.const 0) (call $nested (i32.const 5000))))
  (func (export "reprise_run") (result i32)
    (call $output (i32.const 0) (i32.const 4))
    (i32.const 0)))
