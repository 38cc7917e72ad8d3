/** The port of the gateway in workers' networks, and of the adapter's loopback proxy in a sandbox without a network. */
export const gatewayPort = 18_877;
