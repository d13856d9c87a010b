// Copyright: (c) 2026, the zerocopy.rdma authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

// Command lab-gpus is a stand-in for the NVIDIA DRA driver on nodes without GPUs.
//
// It publishes the display devices of a node under the name of that driver, on the PCIe paths that they really have, and
// answers the kubelet that they are prepared. A pod gets nothing from it: no device, no driver, no library.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/deviceattribute"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const (
	driverName = "gpu.nvidia.com"
	product    = "stand-in"
	pluginData = "/var/lib/kubelet/plugins/" + driverName
	// Of all display controllers.
	displayClass = "0x03"
)

type driver struct {
	fail func(error)
}

func (d driver) PrepareResourceClaims(
	_ context.Context, claims []*resourceapi.ResourceClaim,
) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		result := kubeletplugin.PrepareResult{}
		for _, allocated := range claim.Status.Allocation.Devices.Results {
			if allocated.Driver == driverName {
				result.Devices = append(result.Devices, kubeletplugin.Device{
					Requests:   []string{allocated.Request},
					PoolName:   allocated.Pool,
					DeviceName: allocated.Device,
				})
			}
		}
		results[claim.UID] = result
	}
	return results, nil
}

func (d driver) UnprepareResourceClaims(
	_ context.Context, claims []kubeletplugin.NamespacedObject,
) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		results[claim.UID] = nil
	}
	return results, nil
}

func (d driver) HandleError(_ context.Context, err error, message string) {
	d.fail(fmt.Errorf("%s: %w", message, err))
}

// addresses returns the PCI addresses of the vendor's display devices, in the order on the bus.
func addresses(vendor string) ([]string, error) {
	paths, err := filepath.Glob("/sys/bus/pci/devices/*")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		of, err := os.ReadFile(filepath.Join(path, "vendor"))
		if err != nil {
			return nil, err
		}
		class, err := os.ReadFile(filepath.Join(path, "class"))
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(of)) == "0x"+vendor && strings.HasPrefix(string(class), displayClass) {
			found = append(found, filepath.Base(path))
		}
	}
	sort.Strings(found)
	return found, nil
}

func device(number int, node, address string) (resourceapi.Device, error) {
	root, err := deviceattribute.GetPCIeRootAttributeByPCIBusID(address)
	if err != nil {
		return resourceapi.Device{}, err
	}
	bus, err := deviceattribute.GetPCIBusIDAttribute(address)
	if err != nil {
		return resourceapi.Device{}, err
	}
	text := func(value string) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{StringValue: &value}
	}
	return resourceapi.Device{
		Name: fmt.Sprintf("gpu-%d", number),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"type":        text("gpu"),
			"productName": text(product),
			"uuid":        text(fmt.Sprintf("%s-%s-%s", product, node, address)),
			bus.Name:      bus.Value,
			root.Name:     root.Value,
		},
	}, nil
}

func run(ctx context.Context, kubeconfig, node, vendor string, fail func(error)) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	found, err := addresses(vendor)
	if err != nil {
		return err
	}
	var devices []resourceapi.Device
	for number, address := range found {
		one, err := device(number, node, address)
		if err != nil {
			return err
		}
		devices = append(devices, one)
	}
	if err := os.MkdirAll(pluginData, 0o750); err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(
		ctx, driver{fail},
		kubeletplugin.DriverName(driverName), kubeletplugin.KubeClient(client), kubeletplugin.NodeName(node),
		kubeletplugin.PluginDataDirectoryPath(pluginData),
	)
	if err != nil {
		return err
	}
	defer helper.Stop()
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{{Devices: devices}}}
	pools := map[string]resourceslice.Pool{node: pool}
	if err := helper.PublishResources(ctx, resourceslice.DriverResources{Pools: pools}); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func main() {
	kubeconfig := flag.String("kubeconfig", "/etc/kubernetes/kubelet.conf", "credentials, by default the kubelet's")
	node := flag.String("node", "", "name of the node (default: that of the host)")
	vendor := flag.String("vendor", "1234", "PCI vendor of the display devices")
	flag.Parse()
	if *node == "" {
		*node, _ = os.Hostname()
	}
	signals, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, fail := context.WithCancelCause(signals)
	err := run(ctx, *kubeconfig, *node, *vendor, func(cause error) { fail(cause) })
	if err != nil && signals.Err() == nil {
		fmt.Fprintln(os.Stderr, "lab-gpus:", err)
		os.Exit(1)
	}
}
