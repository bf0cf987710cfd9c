package attack

import (
	"net/http"
	"time"

	"reprise/journal"
)

// decoding is what a module that is refused may cost: it is never compiled.
var decoding = bounds{cpu: 5 * time.Second, memory: 512}

// counted makes an attack of modules that are each refused.
func counted(number int, what string, modules map[string][]byte, codes ...string) attack {
	return attack{number: number, what: what, bounds: decoding, run: func(v *victim) {
		for name, m := range modules {
			v.refused(name, m, codes...)
		}
	}}
}

// countAttacks announce more than their bytes hold.
func countAttacks() []attack {
	oneType := sec(secType, 1, 0x60, 0, 0)
	return []attack{
		counted(1, "2^32-1 data segments announced in a file of 15 bytes: refused", map[string][]byte{
			"data count section": mod(sec(secDataCount, most)), "data section": mod(sec(secData, most)),
			"with a memory": mod(oneType, sec(secMemory, 1, 0, 1), sec(secData, most)),
		}, "malformed", "too_many"),
		counted(2, "2^32-1 element segments: refused", map[string][]byte{
			"bare": mod(sec(secElement, most)), "with a table": mod(oneType, sec(secTable, 1, 0x70, 0, 1), sec(secElement, most)),
		}, "too_many"),
		counted(3, "2^32-1 functions or bodies: refused", map[string][]byte{
			"bodies": mod(oneType, oneVoid, sec(secCode, most)), "functions": mod(oneType, sec(secFunction, most)),
			"bytes of a body": mod(oneType, oneVoid, sec(secCode, 1, most)),
		}, "too_many"),
		counted(4, "2^32-1 imports: refused", map[string][]byte{
			"imports": mod(oneType, sec(secImport, most)), "bytes of a name": mod(sec(secImport, 1, most, 0, 0, 0)),
		}, "too_many"),
		counted(5, "2^32-1 globals: refused", map[string][]byte{"globals": mod(sec(secGlobal, most))}, "too_many"),
		counted(6, "2^32-1 tables, and tables of that many entries: refused", map[string][]byte{
			"tables": mod(sec(secTable, most)), "entries": mod(sec(secTable, 1, 0x70, 0, most)),
			"16 tables of 2^27": mod(sec(secTable, 16, times(16, 0x70, 0, leb(1<<27)))),
		}, "too_many"),
		counted(7, "2^32-1 parameters, results or types: refused", map[string][]byte{
			"parameters": mod(sec(secType, 1, 0x60, most)), "results": mod(sec(secType, 1, 0x60, 0, most)), "types": mod(sec(secType, most)),
		}, "too_many"),
		counted(8, "2^32-1 elements in a segment: refused", map[string][]byte{
			"functions": mod(sec(secElement, 1, 1, 0, most)), "expressions": mod(sec(secElement, 1, 5, 0x70, most)),
		}, "too_many"),
		{number: 9, what: "a name section of 2^32-1 names or bytes: what does not fit in the file is refused, and names that are no names are left out of a module that runs",
			bounds: decoding, run: hostileNameSection},
		counted(10, "2^32-1 exports: refused", map[string][]byte{"exports": mod(oneType, sec(secExport, most))}, "too_many"),
		counted(11, "100 million locals in 30 bytes, and 4 billion: refused", map[string][]byte{
			"100 million": command(1, leb(100_000_000), 0x7f), "4 billion": command(1, "\xf0\xff\xff\xff\x0f", 0x7f),
			"groups that sum up": command(leb(100), times(100, leb(1_000_000), 0x7e)),
		}, "too_many"),
		counted(15, "a type of a million parameters, and one of as many results: refused", map[string][]byte{
			"parameters": mod(sec(secType, 1, 0x60, leb(1_000_000), times(1_000_000, 0x7f), 0)),
			"results":    mod(sec(secType, 1, 0x60, 0, leb(1_000_000), times(1_000_000, 0x7f))),
		}, "too_many"),
	}
}

func hostileNameSection(v *victim) {
	v.refused("section of 4 GiB", cat(command(0), 0, most, 4, "name"), "too_many")
	v.refused("name of a section of 4 GiB", cat(command(0), 0, 5, most), "too_many")
	for name, section := range map[string][]byte{
		"names":       custom("name", 1, 5, most),
		"local names": custom("name", 2, 7, 1, 0, most),
		"subsection":  custom("name", 1, most),
		"a name":      custom("name", 1, 7, 1, 0, most),
	} {
		if a := v.push(ann, "named", cat(command(0), section)); a.status != http.StatusCreated {
			v.errorf("%s: got %d %s, want it taken without its names", name, a.status, a.body)
			continue
		}
		if run := v.run("named", nil); run.State != journal.Completed {
			v.errorf("%s: got %s (%s), want completed", name, run.State, run.Reason)
		}
	}
}
