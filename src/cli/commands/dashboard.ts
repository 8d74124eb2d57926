/** `dashboard`: serves pages with the queues, their jobs and failures, to whoever has the printed link or a token. */
import { defineCommand } from '../command';
import { on, port, text } from '../flags';
import { listen } from '../http-server';
import { noteMemory } from '../named-queues';
import { stopped } from '../stop-signals';

const [PORT, HOST] = [4321, '127.0.0.1'];

export const dashboard = defineCommand({
  name: 'dashboard',
  summary: 'show the queues, their jobs and failures in a browser',
  description:
    'The printed link lets one browser in, within 15 minutes. If ONQUEUE_DASHBOARD_TOKEN is set (32 characters or more), people ' +
    'sign in with that token instead, also from other machines with --host; ONQUEUE_DASHBOARD_VIEWER_TOKEN lets people look but ' +
    'not act. It serves until it is stopped.',
  examples: [
    ['onqueue dashboard', 'on this machine'],
    ['onqueue dashboard --read-only', 'only look: no retry, cancel or pause'],
    ['onqueue dashboard --host=0.0.0.0 --port=8080', 'also for other machines, with the token'],
  ],
  flags: {
    port: port(`port to listen on (default: ${PORT})`),
    host: text('<address>', `address to listen on; 0.0.0.0 means all (default: ${HOST})`),
    readOnly: on('nobody may retry, cancel, forget, pause or resume'),
  },
  async run(call) {
    const { port = PORT, host = HOST, readOnly } = call.flags;
    const { environment } = call.session.surroundings;
    // Loaded here, with all its pages, because no other command needs them.
    const { StandaloneDashboard, tokensIn } =
      require('../../dashboard/standalone') as typeof import('../../dashboard/standalone');
    const tokens = tokensIn(environment, host);
    const manager = await call.open();
    noteMemory(call, manager, manager.connectionNames());
    const panel = new StandaloneDashboard(manager);
    const server = await listen(panel.server, { flag: '--port', port, host });
    const address = `${server.address}/${panel.begin(server.port, tokens, readOnly === true ? 'viewer' : 'operator')}`;
    call.output.result({ address }, `The dashboard is at ${address}`);
    await stopped(call.session.surroundings);
    panel.close();
    server.close();
  },
});
