;; Refused: the contract has no function "teleport".
(module
  (import "reprise_v1" "teleport" (func (param i32) (result i32)))
  (memory (export "memory") 3)
  (func (export "reprise_run") (result i32) (i32.const 0)))
