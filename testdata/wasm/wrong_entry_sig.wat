;; Refused: reprise_run takes no parameter.
(module
  (memory (export "memory") 3)
  (func (export "reprise_run") (param i32) (result i32) (i32.const 0)))
