/** The dashboard beside the work, for this machine alone: a program with users of its own asks in `authorize` who they are. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dashboard } from 'onqueue/dashboard';

export async function serveDashboard(): Promise<{ close(): void }> {
  // A page of another site may have its own name lead here: it is not let in.
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
