// Copyright: (c) 2026, the zerocopy.rdma authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

// nri-runtime is the runtime's side of NRI without a runtime: the package that containerd and CRI-O have built in.
// It listens on a socket for plugins, reads one request per line (the JSON of a CreateContainerRequest) and prints what
// containerd would get: the adjustment, or the error, and how long it took. When a plugin has been synchronized, it
// prints {"event": "synchronized"}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"google.golang.org/protobuf/encoding/protojson"
)

type answer struct {
	Event        string          `json:"event"`
	Error        string          `json:"error,omitempty"`
	Adjust       json.RawMessage `json:"adjust,omitempty"`
	Microseconds int64           `json:"microseconds"`
}

var lock sync.Mutex

func say(what answer) {
	lock.Lock()
	defer lock.Unlock()
	text, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func synchronize(ctx context.Context, plugin adaptation.SyncCB) error {
	// Three pods that run already, so that there is something to synchronize.
	pods := []*api.PodSandbox{{Id: "a", Name: "a"}, {Id: "b", Name: "b"}, {Id: "c", Name: "c"}}
	if _, err := plugin(ctx, pods, []*api.Container{{Id: "d", PodSandboxId: "a", Name: "d"}}); err != nil {
		say(answer{Event: "refused", Error: err.Error()})
		return err
	}
	say(answer{Event: "synchronized"})
	return nil
}

func update(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
	return nil, nil
}

func create(runtime *adaptation.Adaptation, line []byte) answer {
	request := &api.CreateContainerRequest{}
	if err := protojson.Unmarshal(line, request); err != nil {
		return answer{Event: "wrong", Error: err.Error()}
	}
	// As containerd does: a plugin that is being synchronized is waited for.
	block := runtime.BlockPluginSync()
	defer block.Unblock()
	began := time.Now()
	response, err := runtime.CreateContainer(context.Background(), request)
	found := answer{Event: "created", Microseconds: time.Since(began).Microseconds()}
	if err != nil {
		found.Error = err.Error()
		return found
	}
	if adjust := response.GetAdjust(); adjust != nil {
		text, err := protojson.Marshal(adjust)
		if err != nil {
			return answer{Event: "wrong", Error: err.Error()}
		}
		found.Adjust = text
	}
	return found
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: nri-runtime SOCKET")
		os.Exit(2)
	}
	none := os.Args[1] + ".none"
	runtime, err := adaptation.New("nri-runtime", "v0", synchronize, update, adaptation.WithSocketPath(os.Args[1]),
		adaptation.WithPluginPath(none), adaptation.WithPluginConfigPath(none))
	if err == nil {
		err = runtime.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	say(answer{Event: "listening"})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		say(create(runtime, lines.Bytes()))
	}
	runtime.Stop()
}
