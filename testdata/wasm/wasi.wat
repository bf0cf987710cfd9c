;; A WASI command: reads its standard input, sleeps one second on the monotonic clock, and writes what it
;; read to its standard output.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 3)
  (func (export "_start")
    ;; One iovec at 0x2000 over the input area; the number of bytes read comes to 0x2008.
    (i32.store (i32.const 0x2000) (i32.const 0x10000))
    (i32.store (i32.const 0x2004) (i32.const 0x10000))
    (if (call $fd_read (i32.const 0) (i32.const 0x2000) (i32.const 1) (i32.const 0x2008)) (then (unreachable)))
    ;; One subscription at 0x2100: tag 0 (clock) at +8, clock 1 (monotonic) at +16, timeout at +24,
    ;; flags 0 (relative) at +40. The event comes to 0x2200, the count to 0x2010.
    (i32.store (i32.const 0x2110) (i32.const 1))
    (i64.store (i32.const 0x2118) (i64.const 1000000000))
    (if (call $poll_oneoff (i32.const 0x2100) (i32.const 0x2200) (i32.const 1) (i32.const 0x2010)) (then (unreachable)))
    (i32.store (i32.const 0x2004) (i32.load (i32.const 0x2008)))
    (if (call $fd_write (i32.const 1) (i32.const 0x2000) (i32.const 1) (i32.const 0x200c)) (then (unreachable)))))
