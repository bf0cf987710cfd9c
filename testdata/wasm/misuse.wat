;; Asks for the status of a handle that was never given: a call that the contract forbids.
(module
  (import "reprise_v1" "status" (func $status (param i32) (result i32)))
  (memory (export "memory") 3)
  (func (export "reprise_run") (result i32)
    (call $status (i32.const 7))))
