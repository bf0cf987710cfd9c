package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/host"
	"reprise/host/api/wire"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

func TestErrorsGenerated(t *testing.T) { golden(t, "../../docs/ERRORS.md", ErrorsDoc()) }

func TestRequestsThatAreRefused(t *testing.T) {
	f := newFake()
	run := "/v1/runs/" + f.put(tenant.Default, journal.Run{State: journal.Running}).ID.String()
	long := strings.Repeat("k", abi.MaxName+1)
	post := func(body string) req { return req{method: "POST", path: "/v1/runs", body: body} }
	tests := []struct {
		name   string
		req    req
		status int
		code   string
	}{
		{"no body", post(""), 400, "missing_field"},
		{"not JSON", post(`{"workflow":`), 400, "invalid_json"},
		{"not an object", post(`["workflow"]`), 400, "invalid_json"},
		{"more after the object", post(`{"workflow":"w"}{}`), 400, "invalid_json"},
		{"not UTF-8", post("{\"workflow\":\"\xff\"}"), 400, "invalid_json"},
		{"field twice", post(`{"workflow":"w","workflow":"v"}`), 400, "invalid_json"},
		{"unknown field", post(`{"workflow":"w","tenant":"other"}`), 400, "unknown_field"},
		{"field in the wrong case", post(`{"Workflow":"w"}`), 400, "unknown_field"},
		{"workflow is a number", post(`{"workflow":1}`), 400, "invalid_field"},
		{"workflow is null", post(`{"workflow":null}`), 400, "invalid_field"},
		{"both inputs", post(`{"workflow":"w","input":1,"input_base64":""}`), 400, "invalid_field"},
		{"not base64", post(`{"workflow":"w","input_base64":"*"}`), 400, "invalid_field"},
		{"long key", post(`{"workflow":"w","key":"` + long + `"}`), 400, "invalid_name"},
		{"control character in a key", post(`{"workflow":"w","key":"a\u0000b"}`), 400, "invalid_name"},
		{"long idempotency key", req{method: "POST", path: "/v1/runs", body: `{"workflow":"w"}`, header: map[string]string{"Idempotency-Key": long}}, 400, "invalid_name"},
		{"input too large", post(`{"workflow":"w","input":"` + strings.Repeat("x", abi.MaxPayload) + `"}`), 413, "payload_too_large"},
		{"body too large", post(`{"workflow":"w","input":"` + strings.Repeat("x", startLimit) + `"}`), 413, "body_too_large"},
		{"form", req{method: "POST", path: "/v1/runs", body: "workflow=w", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 415, "unsupported_media_type"},
		{"compressed", req{method: "POST", path: "/v1/runs", body: "{}", header: map[string]string{"Content-Encoding": "gzip"}}, 415, "unsupported_encoding"},
		{"wait is no duration", req{method: "POST", path: "/v1/runs?wait=soon", body: `{"workflow":"w"}`}, 422, "invalid_parameter"},
		{"wait too long", req{path: run + "/result?wait=61s"}, 422, "invalid_parameter"},
		{"negative wait", req{path: run + "/result?wait=-1s"}, 422, "invalid_parameter"},
		{"limit 0", req{path: "/v1/runs?limit=0"}, 422, "invalid_parameter"},
		{"limit too high", req{path: "/v1/runs?limit=1001"}, 422, "invalid_parameter"},
		{"limit is no number", req{path: "/v1/runs?limit=many"}, 422, "invalid_parameter"},
		{"unknown parameter", req{path: "/v1/runs?stat=ready"}, 422, "invalid_parameter"},
		{"unknown state", req{path: "/v1/runs?state=done"}, 422, "invalid_parameter"},
		{"zero byte in a filter", req{path: "/v1/runs?key=%00"}, 400, "invalid_name"},
		{"negative from", req{path: run + "/journal?from=-1"}, 422, "invalid_parameter"},
		{"not a run id", req{path: "/v1/runs/42"}, 400, "invalid_run_id"},
		{"run id in capitals", req{path: "/v1/runs/run_" + strings.Repeat("A", 32)}, 400, "invalid_run_id"},
		{"unknown run", req{path: "/v1/runs/run_" + strings.Repeat("0", 32)}, 404, "run_not_found"},
		{"signal name not UTF-8", req{method: "POST", path: run + "/signals/%ff"}, 400, "invalid_name"},
		{"signal too large", req{method: "POST", path: run + "/signals/s", body: strings.Repeat("x", abi.MaxPayload+1)}, 413, "body_too_large"},
		{"cancel with an unknown field", req{method: "POST", path: run + "/cancel", body: `{"why":"x"}`}, 400, "unknown_field"},
		{"resume with a field", req{method: "POST", path: run + "/resume", body: `{"now":true}`}, 400, "unknown_field"},
		{"delete of no run id", req{method: "DELETE", path: "/v1/runs/42"}, 400, "invalid_run_id"},
		{"delete of an unknown run", req{method: "DELETE", path: "/v1/runs/run_" + strings.Repeat("0", 32)}, 404, "run_not_found"},
		{"delete of an open run", req{method: "DELETE", path: run}, 409, "run_open"},
		{"replay with a bad digest", req{method: "POST", path: run + "/replay", body: `{"digest":"sha256:0"}`}, 400, "invalid_digest"},
		{"push with a bad digest", req{method: "PUT", path: "/v1/modules/m?digest=x", body: "x", header: map[string]string{"Content-Type": "application/wasm"}}, 400, "invalid_digest"},
		{"push of text", req{method: "PUT", path: "/v1/modules/m", body: "x", header: map[string]string{"Content-Type": "text/plain"}}, 415, "unsupported_media_type"},
		{"push too large", req{method: "PUT", path: "/v1/modules/m", body: strings.Repeat("x", MaxModule+1), header: map[string]string{"Content-Type": "application/wasm"}}, 413, "body_too_large"},
		{"unknown route", req{path: "/v2/runs"}, 404, "route_not_found"},
		{"root", req{path: "/"}, 404, "route_not_found"},
		{"doubled slash", req{path: "/v1//runs"}, 404, "route_not_found"},
		{"dots", req{path: "/v1/modules/../runs"}, 404, "route_not_found"},
		{"wrong method", req{method: "DELETE", path: "/v1/runs"}, 405, "method_not_allowed"},
		{"foreign host", req{path: "/v1/runs", host: "evil.example"}, 403, "foreign_host"},
		{"foreign origin", req{method: "POST", path: run + "/cancel", header: map[string]string{"Origin": "http://evil.example"}}, 403, "cross_origin"},
	}
	h := New(Config{UseCases: f})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.req.do(h)
			var p wire.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatalf("not a problem: %v: %d %.300s", err, w.Code, w.Body)
			}
			if w.Code != tt.status || p.Code != tt.code {
				t.Errorf("got %d %s, want %d %s: %s", w.Code, p.Code, tt.status, tt.code, p.Detail)
			}
			if p.Status != w.Code || p.Type != problemTypePrefix+p.Code || p.Title == "" || p.Detail == "" || p.Fix == "" {
				t.Errorf("the problem lacks a field or tells another status: %+v", p)
			}
			if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("got Content-Type %q, want application/problem+json", got)
			}
			if len(p.Detail) > 1000 {
				t.Errorf("got a detail of %d bytes, want at most 1000: it repeats the input", len(p.Detail))
			}
		})
	}
}

func TestErrorsOfUseCases(t *testing.T) {
	tests := []struct {
		err       error
		status    int
		code      string
		retryable bool
	}{
		{&host.Error{Kind: host.Invalid, Code: "unknown_entry"}, 400, "unknown_entry", false},
		{&host.Error{Kind: host.Forbidden, Code: "signature_missing"}, 403, "signature_missing", false},
		{&host.Error{Kind: host.NotFound, Code: "run_not_found"}, 404, "run_not_found", false},
		{&host.Error{Kind: host.Conflict, Code: "run_ended"}, 409, "run_ended", false},
		{&host.Error{Kind: host.TooLarge, Code: "payload_too_large"}, 413, "payload_too_large", false},
		{&host.Error{Kind: host.Quota, Code: "signals_queued"}, 429, "signals_queued", true},
		{&host.Error{Kind: host.Unavailable, Code: "not_ready"}, 503, "not_ready", true},
		{&host.Error{Kind: host.Conflict, Code: "an_embedders_own"}, 409, "an_embedders_own", false},
		{&modules.RefusedError{Code: "unknown_import", What: "w"}, 400, "unknown_import", false},
		{&modules.RefusedError{Code: "too_large", What: "w"}, 413, "too_large", false},
		{errBroken, 500, "internal", false},
		{fmt.Errorf("create: %w: %w", journal.ErrUnavailable, errBroken), 503, "no_database", true},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			f := newFake()
			f.fail = tt.err
			var log bytes.Buffer
			w := req{path: "/v1/modules/m"}.do(New(Config{UseCases: f, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
			var p wire.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if w.Code != tt.status || p.Code != tt.code || p.Retryable != tt.retryable {
				t.Errorf("got %d %s retryable %v, want %d %s %v", w.Code, p.Code, p.Retryable, tt.status, tt.code, tt.retryable)
			}
			if again := w.Header().Get("Retry-After"); (again != "") != tt.retryable {
				t.Errorf("got Retry-After %q, want one: %v", again, tt.retryable)
			}
			if tt.status != 500 {
				return
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the answer tells what is inside: %s", w.Body)
			}
			if id := w.Header().Get("X-Request-Id"); p.RequestID != id || !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "secret") {
				t.Errorf("request %q: got request_id %q and the log %q, want the id in both and the cause in the log", id, p.RequestID, &log)
			}
		})
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	f := newFake()
	f.panic = "secret"
	w := req{path: "/v1/runs/run_" + strings.Repeat("0", 32)}.do(New(Config{UseCases: f}))
	mustStatus(t, w, http.StatusInternalServerError)
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), `"code":"internal"`) {
		t.Errorf("got %s, want code internal and no details", w.Body)
	}
}

func TestMethodNotAllowedListsMethods(t *testing.T) {
	w := req{method: "DELETE", path: "/v1/runs"}.do(New(Config{UseCases: newFake()}))
	if got, want := w.Header().Get("Allow"), "GET, HEAD, POST"; got != want {
		t.Errorf("got Allow %q, want %q", got, want)
	}
}

// TestEveryCodeIsInTheTable reads the sources for codes: what they answer with must be documented, and
// what is documented must occur.
func TestEveryCodeIsInTheTable(t *testing.T) {
	used := map[string]string{}
	for _, dir := range []string{"..", "../../modules"} {
		codesIn(t, dir, used)
	}
	var table []string
	for _, c := range Codes {
		if slices.Contains(table, c.Code) {
			t.Errorf("the code %s is in the table twice", c.Code)
		}
		table = append(table, c.Code)
		if used[c.Code] == "" {
			t.Errorf("the code %s is in the table and no source has it", c.Code)
		}
	}
	for code, at := range used {
		if strings.HasPrefix(at, "! ") && !slices.Contains(table, code) {
			t.Errorf("%s answers with the code %s, which is not in the table", at[2:], code)
		}
	}
}

// codesIn collects string literals that look like a code; those of a field Code of host.Error and
// modules.RefusedError, and those given to refuse and newProblem here, are marked with "! ".
func codesIn(t *testing.T, dir string, used map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "api/codes.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if code, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && used[code] == "" {
					used[code] = path
				}
			case *ast.CompositeLit:
				if code := codeField(n); code != "" {
					used[code] = "! " + path
				}
			case *ast.CallExpr:
				if code := codeArgument(n); code != "" && filepath.Base(filepath.Dir(path)) == "api" {
					used[code] = "! " + path
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func codeField(n *ast.CompositeLit) string {
	name := ""
	switch typ := n.Type.(type) {
	case *ast.Ident:
		name = typ.Name
	case *ast.SelectorExpr:
		name = typ.Sel.Name
	}
	if name != "Error" && name != "RefusedError" {
		return ""
	}
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, ok := kv.Key.(*ast.Ident)
		lit, isLit := kv.Value.(*ast.BasicLit)
		if ok && isLit && key.Name == "Code" {
			code, _ := strconv.Unquote(lit.Value)
			return code
		}
	}
	return ""
}

func codeArgument(n *ast.CallExpr) string {
	f, ok := n.Fun.(*ast.Ident)
	if !ok || f.Name != "refuse" && f.Name != "newProblem" || len(n.Args) == 0 {
		return ""
	}
	lit, ok := n.Args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	code, _ := strconv.Unquote(lit.Value)
	return code
}

func TestCodesNamePagesThatExist(t *testing.T) {
	for _, c := range Codes {
		for _, word := range strings.Fields(c.Fix) {
			page := strings.Trim(word, ";,.")
			if !strings.HasPrefix(page, "docs/") {
				continue
			}
			if _, err := os.Stat("../../" + page); err != nil {
				t.Errorf("%s sends its reader to %s: %v", c.Code, page, err)
			}
		}
	}
}
