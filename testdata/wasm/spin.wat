;; Never returns and never waits.
(module
  (func (export "reprise_run") (result i32)
    (loop $forever (br $forever))
    (i32.const 0)))
