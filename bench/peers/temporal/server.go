package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // its tables
	"go.temporal.io/server/temporal"
	"go.temporal.io/server/tools/sql"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	plugin = "postgres12_pgx"
	shards = 4
	// connections of the main store; that of visibility has a third as many.
	connections = 30
	loopback    = "127.0.0.1"
)

// server is a Temporal server with all its services.
type server struct {
	temporal.Server
	address string
}

// start makes the tables, the main ones in the database of dsn, those of visibility in a database beside it, and starts a server.
func start(_ context.Context, dsn string) (*server, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("DSN: %w", err)
	}
	main, visibility := stores(u)
	if err := schema(main, "postgresql/v12/temporal"); err != nil {
		return nil, err
	}
	beside := *visibility // the tool changes what it is given
	if err := sql.DoCreateDatabase(&beside, main.DatabaseName, log.NewNoopLogger()); err != nil {
		return nil, fmt.Errorf("visibility's database: %w", err)
	}
	if err := schema(visibility, "postgresql/v12/visibility"); err != nil {
		return nil, err
	}
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	s := &server{address: fmt.Sprintf("%s:%d", loopback, ports[0])}
	s.Server, err = temporal.NewServer(
		temporal.WithConfig(settings(main, visibility, ports)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "error"}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			// A new namespace is to be known soon; the default is 10 s.
			dynamicconfig.NamespaceCacheRefreshInterval.Key(): time.Second,
		}))
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := s.Start(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return s, nil
}

// stores are where the server keeps workflows, and what it lists.
func stores(u *url.URL) (main, visibility *config.SQL) {
	password, _ := u.User.Password()
	name := u.Path[1:]
	of := func(name string, connections int) *config.SQL {
		return &config.SQL{PluginName: plugin, ConnectProtocol: "tcp", ConnectAddr: u.Host, User: u.User.Username(), Password: password, DatabaseName: name,
			MaxConns: connections, MaxIdleConns: connections, MaxConnLifetime: time.Hour}
	}
	return of(name, connections), of(name+"_visibility", connections/3)
}

// schema makes the tables by Temporal's own tool.
func schema(store *config.SQL, name string) error {
	host, port, err := net.SplitHostPort(store.ConnectAddr)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	to := []string{"temporal-sql-tool", "--plugin", plugin, "--ep", host, "--port", port, "--user", store.User, "--password", store.Password, "--database", store.DatabaseName}
	for _, do := range [][]string{{"setup-schema", "--version", "0.0"}, {"update-schema", "--schema-name", name}} {
		if err := sql.RunTool(append(to, do...)); err != nil {
			return fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return nil
}

func settings(main, visibility *config.SQL, ports []int) *config.Config {
	const name = "active"
	service := func(i int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: ports[2*i], MembershipPort: ports[2*i+1], BindOnIP: loopback}}
	}
	address := fmt.Sprintf("%s:%d", loopback, ports[0])
	off := config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}}
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback}},
		Persistence: config.Persistence{DefaultStore: "main", VisibilityStore: "visibility", NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{"main": {SQL: main}, "visibility": {SQL: visibility}}},
		ClusterMetadata: &cluster.Config{FailoverVersionIncrement: 10, MasterClusterName: name, CurrentClusterName: name,
			ClusterInformation: map[string]cluster.ClusterInformation{name: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}}},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            map[string]config.Service{"frontend": service(0), "history": service(1), "matching": service(2), "worker": service(3)},
		Archival:            off,
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: "disabled"}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"}}},
		PublicClient: config.PublicClient{HostPort: address},
	}
}

// register makes the namespace.
func register(ctx context.Context, c client.Client) error {
	_, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{Namespace: namespace,
		WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	return nil
}

// freePorts finds ports below 32,768: Temporal keeps them in 16 bits, with a sign.
func freePorts(n int) (ports []int, err error) {
	const lowest, highest = 20_000, 32_000
	first := lowest + rand.IntN(highest-lowest)
	for port := first; len(ports) < n && port <= 1<<15-1; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback, port))
		if err != nil {
			continue // somebody has it
		}
		defer l.Close()
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("%d ports from %d on: only %d are free", n, first, len(ports))
	}
	return ports, nil
}
