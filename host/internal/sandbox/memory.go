package sandbox

import "github.com/tetratelabs/wazero/api"

// noMemory stands in for the memory of a module that has none: everything is out of bounds.
type noMemory struct{ api.Memory }

func (noMemory) Size() uint32                       { return 0 }
func (noMemory) Read(uint32, uint32) ([]byte, bool) { return nil, false }
func (noMemory) ReadUint32Le(uint32) (uint32, bool) { return 0, false }
func (noMemory) ReadUint64Le(uint32) (uint64, bool) { return 0, false }
func (noMemory) Write(uint32, []byte) bool          { return false }
func (noMemory) WriteUint32Le(uint32, uint32) bool  { return false }
func (noMemory) WriteUint64Le(uint32, uint64) bool  { return false }
