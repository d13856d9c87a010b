// Copyright: (c) 2026, the zerocopy.rdma authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

// Package nvfm has the names of go-nvfm that NVIDIA's DRA driver uses, for a lab without that module.
//
// The driver opens Fabric Manager only with its gate FabricManagerPartitioning. Here there is none: Init says so.
package nvfm

import "fmt"

// Return is what each call of Fabric Manager returns.
type Return int

const (
	SUCCESS       Return = 0
	NOT_SUPPORTED Return = -1
)

func (r Return) String() string {
	if r == SUCCESS {
		return "success"
	}
	return fmt.Sprintf("no Fabric Manager in the lab (%d)", int(r))
}

// FabricPartitionId numbers a partition.
type FabricPartitionId uint32

// FabricPartitionGpuInfo is a GPU of a partition.
type FabricPartitionGpuInfo struct {
	PhysicalId          uint32
	Uuid                [80]int8
	PciBusId            [32]int8
	NumNvLinksAvailable uint32
	MaxNumNvLinks       uint32
	NvlinkLineRateMBps  uint32
}

// FabricPartitionInfo is a partition.
type FabricPartitionInfo struct {
	PartitionId FabricPartitionId
	IsActive    uint32
	NumGpus     uint32
	GpuInfo     [16]FabricPartitionGpuInfo
}

// FabricPartitionList is all partitions.
type FabricPartitionList struct {
	NumPartitions uint32
	PartitionInfo [64]FabricPartitionInfo
}

// Interface is the library.
type Interface interface {
	Init() Return
	Shutdown() Return
	Connect(...ConnectOption) (Handle, Return)
}

// Handle is a connection.
type Handle interface {
	Disconnect() Return
	GetSupportedFabricPartitions() (FabricPartitionList, Return)
	ActivateFabricPartition(FabricPartitionId) Return
	DeactivateFabricPartition(FabricPartitionId) Return
}

// LibraryOption and ConnectOption are settings, of which none has an effect here.
type (
	LibraryOption func()
	ConnectOption func()
)

func WithLibraryPath(string) LibraryOption { return func() {} }
func WithAddress(string) ConnectOption     { return func() {} }
func WithUnixSocket(string) ConnectOption  { return func() {} }
func WithTimeoutMs(uint32) ConnectOption   { return func() {} }

// New returns a library that cannot be initialised.
func New(...LibraryOption) Interface { return absent{} }

type absent struct{}

func (absent) Init() Return                              { return NOT_SUPPORTED }
func (absent) Shutdown() Return                          { return SUCCESS }
func (absent) Connect(...ConnectOption) (Handle, Return) { return nil, NOT_SUPPORTED }
