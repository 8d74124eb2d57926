/** Viewers that do not read what they are sent, such as a sleeping laptop. */
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Answer, EventSink } from '../../../src/dashboard/http/answer';
import { respond } from '../../../src/dashboard/http/handlers';

it('a viewer that does not read is disconnected, and delays neither the checks nor the end of the server', async () => {
  let sink: EventSink | undefined;
  const left = new Promise<void>((resolve) => {
    const open = (given: EventSink): (() => void) => {
      sink = given;
      return resolve;
    };
    const answer: Answer = { status: 200, headers: { 'content-type': 'text/event-stream' }, body: open };
    const server = createServer((request, response) => {
      void respond({ answer: async () => answer }, request, response).then(() => {
        while (sink!.send('x'.repeat(1024 * 1024)));
        sink!.end();
      });
    });
    server.listen(0, '127.0.0.1', () => {
      const viewer = connect((server.address() as AddressInfo).port, '127.0.0.1');
      viewer.pause().write('GET / HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n');
      viewer.on('error', () => undefined);
      server.once('request', () => server.close(() => viewer.destroy()));
    });
  });

  await expect(left).resolves.toBeUndefined();
});
