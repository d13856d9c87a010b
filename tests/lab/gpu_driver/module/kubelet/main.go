// Copyright: (c) 2026, the zerocopy.rdma authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

// Command lab-kubelet asks a DRA driver to prepare a claim, or to undo that, as the kubelet does.
//
//	lab-kubelet SOCKET prepare|unprepare NAMESPACE NAME UID
//
// It prints the answer as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

func ask(socket, what string, claim *dra.Claim) (any, error) {
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	driver, claims := dra.NewDRAPluginClient(connection), []*dra.Claim{claim}
	if what == "prepare" {
		return driver.NodePrepareResources(context.Background(), &dra.NodePrepareResourcesRequest{Claims: claims})
	}
	return driver.NodeUnprepareResources(context.Background(), &dra.NodeUnprepareResourcesRequest{Claims: claims})
}

func main() {
	if len(os.Args) != 6 || (os.Args[2] != "prepare" && os.Args[2] != "unprepare") {
		fmt.Fprintln(os.Stderr, "lab-kubelet SOCKET prepare|unprepare NAMESPACE NAME UID")
		os.Exit(2)
	}
	claim := &dra.Claim{Namespace: os.Args[3], Name: os.Args[4], Uid: os.Args[5]}
	answer, err := ask(os.Args[1], os.Args[2], claim)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab-kubelet:", err)
		os.Exit(1)
	}
}
