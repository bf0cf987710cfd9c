;; Refused: timer takes an i64.
(module
  (import "reprise_v1" "timer" (func (param i32) (result i32)))
  (memory (export "memory") 3)
  (func (export "reprise_run") (result i32) (i32.const 0)))
