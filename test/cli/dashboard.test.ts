import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../support/eventually';
import { CommandKit } from './kit/command-kit';

const TOKEN = 'an-operator-has-this-token-of-48-characters-here';

let kit: CommandKit;
beforeEach(() => {
  kit = new CommandKit();
});
afterEach(() => kit.close());

/** Starts the command and waits for the address it prints. */
async function started(...line: readonly string[]) {
  const running = kit.run('dashboard', '--port=0', ...line);
  const address = await eventually(() => /http:[^\s"]+/.exec(kit.shown)?.[0], { of: 'an address' });
  const stop = async () => {
    kit.signal('SIGTERM');
    return running;
  };
  return { address: String(address), stop };
}

const opened = (address: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(address, { redirect: 'manual', headers: { accept: 'text/html', ...headers } });

describe('onqueue dashboard', () => {
  it('prints a link that lets one browser in, and ends cleanly when told to, even with a browser watching', async () => {
    await kit.push('films', 'Render');
    const { address, stop } = await started();
    const { origin } = new URL(address);

    const first = await opened(address);
    const [cookie = ''] = first.headers.getSetCookie();
    const page = await opened(`${origin}/`, { cookie });
    const events = await opened(`${origin}/`, { cookie, accept: 'text/event-stream' });

    expect([first.status, first.headers.get('location')]).toEqual([303, './']);
    expect(await page.text()).toContain('<bdi>films</bdi>');
    const { code, stdout } = await stop();
    expect([code, stdout]).toEqual([0, `The dashboard is at ${address}\n`]);
    expect(await events.text()).toBe('');
    await expect(opened(address)).rejects.toThrow('fetch failed');
  });

  it('prints the link as JSON', async () => {
    const { address, stop } = await started('--json');
    const { stdout } = await stop();
    expect(JSON.parse(stdout)).toEqual({ address });
  });

  it('refuses all actions with --read-only', async () => {
    const { address, stop } = await started('--read-only');
    const [cookie = ''] = (await opened(address)).headers.getSetCookie();

    const { status } = await fetch(new URL('pause-queue', address), {
      method: 'POST',
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ connection: 'memory', queue: 'mail' }),
    });

    expect(status).toBe(403);
    await stop();
  });

  it('prints no key if a token is set, because a log would keep it', async () => {
    kit.environment = { ONQUEUE_DASHBOARD_TOKEN: TOKEN };
    const { address, stop } = await started('--host=0.0.0.0');
    const { stdout, stderr } = await stop();
    expect(stdout).toBe(`The dashboard is at ${address}\n`);
    expect(address).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/$/);
    expect(stdout + stderr).not.toContain(TOKEN);
  });

  const isWeak = { ONQUEUE_DASHBOARD_TOKEN: 'hunter2-hunter2' };
  const isWeakForViewers = { ONQUEUE_DASHBOARD_TOKEN: TOKEN, ONQUEUE_DASHBOARD_VIEWER_TOKEN: 'hunter2-hunter2' };
  const areSame = { ONQUEUE_DASHBOARD_TOKEN: TOKEN, ONQUEUE_DASHBOARD_VIEWER_TOKEN: ` ${TOKEN}` };
  it.each([
    ['beyond this machine without a token', ['--host=0.0.0.0'], {}, 'ONQUEUE_DASHBOARD_TOKEN is not set'],
    ['beyond this machine with an empty token', ['--host=::'], { ONQUEUE_DASHBOARD_TOKEN: ' ' }, 'is not set'],
    ['under a host name that may lead anywhere', ['--host=localhost.example.com'], {}, 'is not set'],
    ['with a short token', [], isWeak, 'ONQUEUE_DASHBOARD_TOKEN has 15 characters'],
    ['with a short viewer token', [], isWeakForViewers, 'ONQUEUE_DASHBOARD_VIEWER_TOKEN has 15 characters'],
    ['with the same token for both', [], areSame, 'ONQUEUE_DASHBOARD_VIEWER_TOKEN is the same'],
  ])('does not start %s, and says what to do without showing the token', async (_, line, environment, sentence) => {
    kit.environment = environment;
    const { code, stdout, stderr } = await kit.run('dashboard', '--port=0', ...line);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(sentence);
    expect(stderr).toContain('openssl rand -hex 32');
    expect(stderr).not.toMatch(/hunter2|an-operator-has/);
  });

  it('says if its port is taken or its address is not local', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    kit.environment = { ONQUEUE_DASHBOARD_TOKEN: TOKEN };

    const taken = await kit.run('dashboard', `--port=${port}`);
    const elsewhere = await kit.run('dashboard', '--port=0', '--host=192.0.2.1');

    expect(taken.stderr).toContain(
      `--port: this process cannot listen on 127.0.0.1:${port}: another process already listens there`,
    );
    expect(elsewhere.stderr).toContain('--host');
    expect([taken.code, elsewhere.code]).toEqual([1, 1]);
    other.close();
  });
});
