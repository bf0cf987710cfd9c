;; Its start function counts how often it ran, and its initialisation too.
(module
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (memory (export "memory") 1)
  (func $begin (i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 1))))
  (start $begin)
  (func (export "_initialize") (i32.store8 (i32.const 1) (i32.add (i32.load8_u (i32.const 0)) (i32.const 10))))
  (func (export "reprise_run") (result i32)
    (call $output (i32.const 0) (i32.const 2))
    (i32.const 0)))
