/** `dashboard`: pages that show the queues, their jobs and what failed, to whoever has the link that it prints, or a token. */
import { defineCommand } from '../command';
import { on, port, text } from '../flags';
import { listen } from '../http-server';
import { noteMemory } from '../named-queues';
import { stopped } from '../stop-signals';

const [PORT, HOST] = [4321, '127.0.0.1'];

export const dashboard = defineCommand({
  name: 'dashboard',
  summary: 'show the queues, their jobs and what failed in a browser',
  description:
    'The link that it prints lets one browser in, within 15 minutes. With ONQUEUE_DASHBOARD_TOKEN, of 32 characters or more, that token lets ' +
    'people in instead, also from other machines by --host; ONQUEUE_DASHBOARD_VIEWER_TOKEN lets in who may look, and not act. ' +
    'It serves until it is stopped.',
  examples: [
    ['onqueue dashboard', 'on this machine'],
    ['onqueue dashboard --read-only', 'to look, and not to retry, cancel or pause'],
    ['onqueue dashboard --host=0.0.0.0 --port=8080', 'also for others, who have the token'],
  ],
  flags: {
    port: port(`port that it is heard on (default: ${PORT})`),
    host: text('<address>', `address that it is heard on; 0.0.0.0: all (default: ${HOST})`),
    readOnly: on('nobody may retry, cancel, forget, pause or resume'),
  },
  async run(call) {
    const { port = PORT, host = HOST, readOnly } = call.flags;
    const { environment } = call.session.surroundings;
    // Loaded here, with all the pages: no other command shows them.
    const { StandaloneDashboard, tokensIn } =
      require('../../dashboard/standalone') as typeof import('../../dashboard/standalone');
    const tokens = tokensIn(environment, host);
    const manager = await call.open();
    noteMemory(call, manager, manager.connectionNames());
    const panel = new StandaloneDashboard(manager);
    const server = await listen(panel.server, { flag: '--port', hostFlag: '--host', port, host });
    const address = `${server.address}/${panel.begin(server.port, tokens, readOnly === true ? 'viewer' : 'operator')}`;
    call.output.result({ address }, `The dashboard is at ${address}`);
    await stopped(call.session.surroundings);
    panel.close();
    server.close();
  },
});
