/** What serves the build, without what it serves. */
import { close, render } from './dist/server.js';

await render(process.argv[2]);
await close();
