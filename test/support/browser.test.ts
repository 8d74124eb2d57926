import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Browser, startBrowser } from './browser';
import { Project } from './project';

/** A page with several faults under a strict policy, each once. */
const FAULTY = `<!doctype html><html lang="en"><title>Faulty</title><body><main><h1>Faulty</h1>
  <style>h1 { color: red }</style><img src="/missing.png"><script src="/script.js"></script></main>`;
const FAULTLESS = `<!doctype html><html lang="en"><title>Faultless</title><body><main><h1>Faultless</h1></main>`;
const POLICY = "default-src 'none'; img-src 'self'; script-src 'self'";

describe('the browser for page tests', () => {
  let server: Server;
  let browser: Browser;
  let address: string;
  const project = new Project();

  beforeAll(async () => {
    server = createServer(({ url }, response) => {
      const page = { '/faulty': FAULTY, '/faultless': FAULTLESS }[url ?? ''];
      if (page !== undefined) {
        response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': POLICY }).end(page);
      } else if (url === '/script.js') {
        response.writeHead(200, { 'content-type': 'text/javascript' }).end('throw new Error("thrown by a script")');
      } else response.writeHead(404).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser.close();
    server.close();
    project.remove();
  });

  it('reports what the policy refused, what could not be loaded, what a script threw and what axe found', async () => {
    const view = await browser.open(`${address}/faulty`);
    expect(view.problems().toSorted()).toEqual([
      expect.stringMatching(/^console: .*inline style.*Content Security Policy/),
      expect.stringMatching(/^console: Failed to load resource.*404.*\/missing\.png/),
      expect.stringMatching(/^script: Error: thrown by a script/),
    ]);
    expect(view.problems()).toEqual([]);
    expect(await view.accessibilityProblems()).toEqual([expect.stringMatching(/^image-alt \(critical\): .* – img: /)]);
  });

  it('reports nothing for a faultless page, and takes a screenshot of it', async () => {
    const view = await browser.open(`${address}/faultless`, {
      colorScheme: 'dark',
      viewport: { width: 320, height: 256 },
    });
    expect(view.problems()).toEqual([]);
    expect(await view.accessibilityProblems()).toEqual([]);
    const picture = join(project.folder, 'faultless.png');
    await view.screenshot(picture);
    expect(readFileSync(picture).subarray(1, 4).toString()).toBe('PNG');
  });

  it('runs no scripts if JavaScript is off', async () => {
    const view = await browser.open(`${address}/faulty`, { javaScriptEnabled: false });
    expect(view.problems().filter((problem) => problem.startsWith('script'))).toEqual([]);
  });
});
