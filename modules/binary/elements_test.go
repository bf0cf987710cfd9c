package binary

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestElements: segments say what they put where, and a copy can declare them instead.
func TestElements(t *testing.T) {
	m := decode(t, everySection)
	want := []Element{
		{Active: true, Constant: true, Funcs: []uint32{0, 2}},
		{Funcs: []uint32{1}},
		{Expressions: true},
		{Funcs: []uint32{1}},
	}
	if diff := cmp.Diff(want, m.Elements); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w := NewWriter(m)
	w.AddImport("b", "g", FuncType{})
	index := w.AddFunc(FuncType{Params: []ValType{I64}}, []byte{byte(OpEnd)})
	w.DeclareElements()
	got := decode(t, w.Bytes())
	if index != 4 || len(got.Bodies) != 3 || !got.FuncType(index).Equal(FuncType{Params: []ValType{I64}}) {
		t.Errorf("got function %d of type %v, %d bodies, want function 4 behind the others", index, got.FuncType(index), len(got.Bodies))
	}
	if diff := cmp.Diff([]Element{{Funcs: []uint32{0, 3, 2, 2}}}, got.Elements); diff != "" {
		t.Errorf("declared (-want +got):\n%s", diff)
	}
	if m.NamesUnknownFunc() || !decode(t, mod(sec(ElementSection, 1, 0, 0x41, 0, 0x0b, 1, 9))).NamesUnknownFunc() {
		t.Error("got the wrong answer to whether a function is named that is not there")
	}
}
