;; Refused: promise is specified, but not implemented in this version.
(module
  (import "reprise_v1" "promise" (func (param i32 i32) (result i32)))
  (memory (export "memory") 3)
  (func (export "reprise_run") (result i32) (i32.const 0)))
