// Package host runs durable workflows: it is the embedding API.
package host
