package reprise

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// queryHandle is what the completion descriptor gives in a copy of the run that is asked, and nowhere else.
const queryHandle int32 = -2

// queries are the handlers of this run.
var queries = map[string]handler{}

// HandleQuery has fn answer queries of that name from now on, instead of what did before. A workflow calls it when there is something to ask for,
// before it waits; fn reads the workflow's variables:
//
//	reprise.HandleQuery("progress", func(struct{}) (int, error) { return done, nil })
//
// A query runs in a copy of the run that is thrown away: what fn changes is gone. It must not ask for anything (effects,
// activities, sleeps, signals) and must not wait, for a lock that the workflow holds in its wait, say: nothing else goes on in the copy.
func HandleQuery[In, Out any](name string, fn func(in In) (Out, error)) {
	queries[name] = wrap(func(_ context.Context, in In) (Out, error) { return fn(in) })
}

// answerQuery answers the query that this copy was made for. Its goroutine is the only one that goes on.
func answerQuery() {
	name := callEntry()
	h, ok := queries[name]
	if !ok {
		callFail(encodeFailure(Failf("unknown_query", "this run answers no query %q; it answers %s", name, queryNames())))
		return
	}
	out, err := execute(context.Background(), h, callInput())
	if err != nil {
		callFail(encodeFailure(toFailure(err)))
		return
	}
	callOutput(out)
}

func queryNames() string {
	if len(queries) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(queries)), ", ")
}
