;; Refused: neither _start nor reprise_run.
(module
  (memory (export "memory") 3)
  (func (export "main") (result i32) (i32.const 0)))
