;; Fails at once with a failure object.
(module
  (import "reprise_v1" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 3)
  (data (i32.const 0) "{\"code\":\"out_of_stock\",\"message\":\"none left\",\"retryable\":false}")
  (func (export "reprise_run") (result i32)
    (call $fail (i32.const 0) (i32.const 63))
    (i32.const 1)))
