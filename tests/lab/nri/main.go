// Copyright: (c) 2026, the zerocopy.rdma authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

// Command lab-nri is an NRI plugin that does to pods, on request, what a network driver's plugin does on a bad day.
//
// It prints one JSON object per line: what containerd told it, and what it answered. With
//
//	systemd-run --collect --unit=lab-nri --property=Type=notify lab-nri -fail-name bad
//
// it is registered when the command returns.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
)

// longest is the most that "-attempts 0" waits between two connections.
const longest = time.Second

type options struct {
	name, index, socket string
	failName            string
	failAnnotation      string
	delay               time.Duration
	attempts            int
}

// line is one event, as printed.
type line struct {
	Time      time.Time `json:"time"`
	Event     string    `json:"event"`
	Namespace string    `json:"namespace,omitempty"`
	Pod       string    `json:"pod,omitempty"`
	Sandbox   string    `json:"sandbox,omitempty"`
	Container string    `json:"container,omitempty"`
	Detail    string    `json:"detail,omitempty"`
	Error     string    `json:"error,omitempty"`
}

func say(entry line, err error) error {
	entry.Time = time.Now().UTC()
	if err != nil {
		entry.Error = err.Error()
	}
	text, broken := json.Marshal(entry)
	if broken != nil {
		panic(broken)
	}
	fmt.Println(string(text))
	return err
}

func about(event string, pod *api.PodSandbox, container *api.Container) line {
	return line{
		Event:     event,
		Namespace: pod.GetNamespace(),
		Pod:       pod.GetName(),
		Sandbox:   pod.GetId(),
		Container: container.GetName(),
	}
}

// plugin has a method per event it wants; the stub subscribes to those it finds.
type plugin struct {
	options options
}

func (p *plugin) Configure(_ context.Context, _, runtime, version string) (stub.EventMask, error) {
	return 0, say(line{Event: "Configure", Detail: runtime + " " + version}, nil)
}

func (p *plugin) Synchronize(
	_ context.Context, pods []*api.PodSandbox, containers []*api.Container,
) ([]*api.ContainerUpdate, error) {
	notify("READY=1")
	detail := fmt.Sprintf("%d pods, %d containers", len(pods), len(containers))
	return nil, say(line{Event: "Synchronize", Detail: detail}, nil)
}

func (p *plugin) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	select {
	case <-time.After(p.options.delay):
	case <-ctx.Done():
		return say(about("RunPodSandbox", pod, nil), ctx.Err())
	}
	return say(about("RunPodSandbox", pod, nil), p.verdict(pod))
}

func (p *plugin) StopPodSandbox(_ context.Context, pod *api.PodSandbox) error {
	return say(about("StopPodSandbox", pod, nil), nil)
}

func (p *plugin) RemovePodSandbox(_ context.Context, pod *api.PodSandbox) error {
	return say(about("RemovePodSandbox", pod, nil), nil)
}

func (p *plugin) CreateContainer(
	_ context.Context, pod *api.PodSandbox, container *api.Container,
) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	return nil, nil, say(about("CreateContainer", pod, container), nil)
}

func (p *plugin) Shutdown(context.Context) {
	_ = say(line{Event: "Shutdown"}, nil)
}

// notify tells systemd something when it started this with Type=notify: "systemd-run" then returns once pods can fail.
func notify(text string) {
	address := &net.UnixAddr{Name: os.Getenv("NOTIFY_SOCKET"), Net: "unixgram"}
	if address.Name == "" {
		return
	}
	connection, err := net.DialUnix(address.Net, nil, address)
	if err == nil {
		defer connection.Close()
		_, err = connection.Write([]byte(text))
	}
	if err != nil {
		_ = say(line{Event: "Notify"}, err)
	}
}

// verdict says whether the flags ask for this pod to fail.
func (p *plugin) verdict(pod *api.PodSandbox) error {
	if wanted := p.options.failName; wanted != "" && strings.HasPrefix(pod.GetName(), wanted) {
		return errors.New("lab: told to fail pods named " + wanted + "*")
	}
	key, wanted, withValue := strings.Cut(p.options.failAnnotation, "=")
	if value, present := pod.GetAnnotations()[key]; present && (!withValue || value == wanted) {
		return errors.New("lab: told to fail pods annotated " + p.options.failAnnotation)
	}
	return nil
}

// connect runs the plugin until the runtime goes away or the context ends.
func (p *plugin) connect(ctx context.Context) error {
	connection, err := stub.New(p,
		stub.WithPluginName(p.options.name),
		stub.WithPluginIdx(p.options.index),
		stub.WithSocketPath(p.options.socket),
	)
	if err != nil {
		return err
	}
	// Run looks at its context only while it connects.
	defer context.AfterFunc(ctx, connection.Stop)()
	return connection.Run(ctx)
}

// serve connects as often as the flags allow; a limited number follow each other at once, which is how DRANET does it.
func (p *plugin) serve(ctx context.Context) error {
	pause := longest / 10
	for attempt := 1; ; attempt++ {
		err := p.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		_ = say(line{Event: "Disconnected", Detail: fmt.Sprintf("attempt %d", attempt)}, err)
		if p.options.attempts > 0 {
			if attempt == p.options.attempts {
				return fmt.Errorf("no runtime after %d attempts", attempt)
			}
			continue
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longest)
		case <-ctx.Done():
			return nil
		}
	}
}

func main() {
	var o options
	flag.StringVar(&o.name, "name", "lab", "name to register with")
	flag.StringVar(&o.index, "index", "50", "two digits that order the plugins")
	flag.StringVar(&o.socket, "socket", api.DefaultSocketPath, "containerd's NRI socket")
	flag.StringVar(&o.failName, "fail-name", "", "fail RunPodSandbox of pods whose name begins so")
	flag.StringVar(&o.failAnnotation, "fail-annotation", "", "fail RunPodSandbox of pods with this annotation, KEY or KEY=VALUE")
	flag.DurationVar(&o.delay, "delay", 0, "answer RunPodSandbox this late")
	flag.IntVar(&o.attempts, "attempts", 1, "connect this often, one attempt right after the other, then exit 1; 0 for ever")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := (&plugin{options: o}).serve(ctx); err != nil {
		_ = say(line{Event: "Exit"}, err)
		os.Exit(1)
	}
}
