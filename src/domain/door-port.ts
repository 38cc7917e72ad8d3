/**
 * The TCP port of the gateway in the workers' networks. In a sandbox without a network, the adapter's loopback proxy
 * listens on the same port.
 */
export const gatewayPort = 18_877;
