/** Serves the dashboard for this machine only. An application with users checks in `authorize` who is asking. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dashboard } from 'onqueue/dashboard';

export async function serveDashboard(): Promise<{ close(): void }> {
  // Another site may point its own host name at this machine (DNS rebinding), so only localhost is let in.
  const panel = dashboard({ authorize: ({ headers }) => /^localhost:\d+$/.test(headers.host ?? '') && 'operator' });
  const server = createServer(panel).listen(Number(process.env['PORT'] ?? 4321), '127.0.0.1');
  await once(server, 'listening');
  console.log(`The dashboard is at http://localhost:${(server.address() as AddressInfo).port}/`);
  return {
    close() {
      panel.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
