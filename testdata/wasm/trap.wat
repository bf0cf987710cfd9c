;; Traps at once. It imports nothing, so it needs no memory.
(module
  (func (export "reprise_run") (result i32)
    (unreachable)))
