;; Found by a random program: on amd64 the compiler gave what a register held in place of the second operand of the select.
(module
  (type (;0;) (func (result i32)))
  (type (;1;) (func (param i32 i64 f32 f64) (result i32 i64 f32 f64)))
  (func (;0;) (type 0) (result i32)
    (local i32 i32 i32 i32 i64 i64 i64 i64 f32 f32 f32 f32 f64 f64 f64 f64 i32)
    i32.const 1
    local.set 16
    loop  ;; label = @1
      local.get 3
      local.get 5
      local.get 11
      local.get 13
      call 1
      local.set 12
      local.set 9
      local.set 7
      local.set 2
      local.get 0
      local.get 6
      local.get 9
      local.get 12
      call 1
      local.set 15
      local.set 9
      local.set 4
      local.set 3
      local.get 8
      local.get 9
      local.get 1
      select
      local.set 9
      local.get 3
      local.get 4
      local.get 8
      local.get 14
      call 1
      local.set 13
      local.set 8
      local.set 4
      local.set 2
      local.get 16
      i32.const 1
      i32.sub
      local.tee 16
      br_if 0 (;@1;)
    end
    i32.const 8264
    local.get 9
    f32.store align=1
    i32.const 0)
  (func (;1;) (type 1) (param i32 i64 f32 f64) (result i32 i64 f32 f64)
    local.get 0
    local.get 1
    local.get 2
    local.get 3)
  (memory (;0;) 1)
  (export "reprise_run" (func 0))
  (export "memory" (memory 0)))
