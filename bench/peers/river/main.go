// River as a peer of the benchmarks. It serves the same commands as the peers in JavaScript.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// What a command brings with it; each uses some.
type params struct {
	URL         string  `json:"url"`
	Schema      string  `json:"schema"`
	Tuned       bool    `json:"tuned"`
	Joins       bool    `json:"joins"`
	Connections int32   `json:"connections"`
	Jobs        int     `json:"jobs"`
	Chunk       int     `json:"chunk"`
	Bytes       int     `json:"bytes"`
	Fib         int     `json:"fib"`
	WaitMs      int     `json:"waitMs"`
	AtOnce      int     `json:"atOnce"`
	CapMs       float64 `json:"capMs"`
	Samples     int     `json:"samples"`
	PauseMs     float64 `json:"pauseMs"`
	PerSecond   float64 `json:"perSecond"`
	Seconds     float64 `json:"seconds"`
}

type noop struct {
	Order  int     `json:"order"`
	Note   string  `json:"note"`
	Filler string  `json:"filler,omitempty"`
	Fib    int     `json:"fib,omitempty"`
	WaitMs int     `json:"waitMs,omitempty"`
	SentAt float64 `json:"sentAt,omitempty"`
}

func (noop) Kind() string { return "noop" }

type worker struct {
	river.WorkerDefaults[noop]
}

var (
	performed atomic.Int64
	mutex     sync.Mutex
	latencies []float64

	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	opened params
)

func now() float64 { return float64(time.Now().UnixNano()) / 1e6 }

func (worker) Work(_ context.Context, job *river.Job[noop]) error {
	if job.Args.WaitMs > 0 {
		time.Sleep(time.Duration(job.Args.WaitMs) * time.Millisecond)
	}
	if job.Args.Fib > 0 {
		fib(job.Args.Fib)
	}
	if job.Args.SentAt > 0 {
		waited := now() - job.Args.SentAt
		mutex.Lock()
		latencies = append(latencies, waited)
		mutex.Unlock()
	}
	performed.Add(1)
	return nil
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func forget() {
	performed.Store(0)
	mutex.Lock()
	latencies = nil
	mutex.Unlock()
}

func makeArgs(p params) noop {
	filler := strings.Repeat("0123456789abcdef", (p.Bytes+15)/16)[:p.Bytes]
	return noop{Order: 4711, Note: "a payload of some fifty bytes", Filler: filler, Fib: p.Fib, WaitMs: p.WaitMs}
}

// config is River's own benchmark's, or the defaults with the queue width that its guide begins with.
func config() *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	c := &river.Config{
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		Schema:  opened.Schema,
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}},
		Workers: workers,
	}
	if opened.Tuned {
		c.FetchCooldown = 2 * time.Millisecond
		c.FetchPollInterval = 20 * time.Millisecond
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}}
	}
	return c
}

func open(ctx context.Context, p params) (any, error) {
	opened = p
	cfg, err := pgxpool.ParseConfig(p.URL)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = p.Connections
	if pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	if p.Joins {
		client, err = river.NewClient(riverpgxv5.New(pool), config())
		return nil, err
	}
	if _, err = pool.Exec(ctx, "create schema "+p.Schema); err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: p.Schema})
	if err != nil {
		return nil, err
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err = river.NewClient(riverpgxv5.New(pool), config())
	return nil, err
}

func insertMany(ctx context.Context, args noop, count int) error {
	list := make([]river.InsertManyParams, count)
	for i := range list {
		list[i].Args = args
	}
	_, err := client.InsertManyFast(ctx, list)
	return err
}

func bulk(ctx context.Context, p params) (any, error) {
	args := makeArgs(p)
	began := time.Now()
	for left := p.Jobs; left > 0; left -= p.Chunk {
		if err := insertMany(ctx, args, min(left, p.Chunk)); err != nil {
			return nil, err
		}
	}
	return map[string]any{"seconds": time.Since(began).Seconds()}, nil
}

func each(p params, call func() error) (any, error) {
	var left atomic.Int64
	left.Store(int64(p.AtOnce))
	errs := make(chan error, p.AtOnce)
	run := func() {
		var wait sync.WaitGroup
		for range p.AtOnce {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for left.Add(-1) >= 0 {
					if err := call(); err != nil {
						errs <- err
						return
					}
				}
			}()
		}
		wait.Wait()
	}
	run()
	left.Store(int64(p.Jobs))
	began := time.Now()
	run()
	select {
	case err := <-errs:
		return nil, err
	default:
		return map[string]any{"seconds": time.Since(began).Seconds()}, nil
	}
}

func enqueue(ctx context.Context, p params) (any, error) {
	args := makeArgs(p)
	return each(p, func() error {
		_, err := client.Insert(ctx, args, nil)
		return err
	})
}

func enqueueInTransaction(ctx context.Context, p params) (any, error) {
	table := opened.Schema + ".bench_order"
	if _, err := pool.Exec(ctx, "create table "+table+" (id bigserial primary key, note text)"); err != nil {
		return nil, err
	}
	args := makeArgs(p)
	return each(p, func() error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "insert into "+table+" (note) values ($1)", args.Note); err != nil {
				return err
			}
			_, err := client.InsertTx(ctx, tx, args, nil)
			return err
		})
	})
}

func isBusy(ctx context.Context) (bool, error) {
	var busy bool
	err := pool.QueryRow(ctx, "select exists (select from "+opened.Schema+
		".river_job where state in ('available', 'running', 'retryable') limit 1)").Scan(&busy)
	return busy, err
}

func drain(ctx context.Context, p params) (any, error) {
	forget()
	began := time.Now()
	if err := startWork(ctx); err != nil {
		return nil, err
	}
	limit := time.Duration(p.CapMs) * time.Millisecond
	for performed.Load() < int64(p.Jobs) && time.Since(began) < limit {
		time.Sleep(5 * time.Millisecond)
	}
	done := min(performed.Load(), int64(p.Jobs))
	for done == int64(p.Jobs) {
		busy, err := isBusy(ctx)
		if err != nil {
			return nil, err
		}
		if !busy {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	seconds := time.Since(began).Seconds()
	return map[string]any{"done": done, "seconds": seconds}, stopWork(ctx)
}

func startWork(ctx context.Context) error {
	var err error
	if client, err = river.NewClient(riverpgxv5.New(pool), config()); err != nil {
		return err
	}
	return client.Start(ctx)
}

func stopWork(ctx context.Context) error { return client.StopAndCancel(ctx) }

func send(ctx context.Context, p params, samples int) error {
	forget()
	began := time.Now()
	for sample := range samples {
		if time.Since(began) > time.Duration(p.CapMs)*time.Millisecond {
			break
		}
		args := makeArgs(p)
		args.SentAt = now()
		if _, err := client.Insert(ctx, args, nil); err != nil {
			return err
		}
		for performed.Load() <= int64(sample) {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(p.PauseMs * (0.5 + rand.Float64()) * float64(time.Millisecond)))
	}
	return nil
}

func latency(ctx context.Context, p params) (any, error) {
	if err := startWork(ctx); err != nil {
		return nil, err
	}
	if err := send(ctx, p, 20); err != nil {
		return nil, err
	}
	if err := send(ctx, p, p.Samples); err != nil {
		return nil, err
	}
	result := map[string]any{"ms": latencies}
	return result, stopWork(ctx)
}

func produce(ctx context.Context, p params) (any, error) {
	began := time.Now()
	sent := 0
	for elapsed := 0.0; elapsed < p.Seconds; elapsed = time.Since(began).Seconds() {
		if due := int(elapsed*p.PerSecond) - sent; due > 0 {
			sent += due
			args := makeArgs(p)
			args.SentAt = now()
			if err := insertMany(ctx, args, due); err != nil {
				return nil, err
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return map[string]any{"sent": sent}, nil
}

func command(ctx context.Context, method string, p params) (any, error) {
	switch method {
	case "open":
		return open(ctx, p)
	case "bulk":
		return bulk(ctx, p)
	case "enqueue":
		return enqueue(ctx, p)
	case "enqueueInTransaction":
		return enqueueInTransaction(ctx, p)
	case "drain":
		return drain(ctx, p)
	case "latency":
		return latency(ctx, p)
	case "startWork":
		forget()
		return nil, startWork(ctx)
	case "collect":
		mutex.Lock()
		defer mutex.Unlock()
		return map[string]any{"ms": latencies}, nil
	case "stopWork":
		return nil, stopWork(ctx)
	case "produce":
		return produce(ctx, p)
	case "close":
		pool.Close()
		return nil, nil
	}
	return nil, fmt.Errorf("no method %q", method)
}

func main() {
	ctx := context.Background()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Method string `json:"method"`
			Params params `json:"params"`
		}
		answer := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			answer["error"] = err.Error()
		} else if value, err := command(ctx, c.Method, c.Params); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["value"] = value
		}
		text, _ := json.Marshal(answer)
		fmt.Printf("@@ %s\n", text)
	}
}
