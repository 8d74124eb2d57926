import { foldedStack } from '../../src/base/folded-stack';

const OURS = require.resolve('../../src/worker/run.ts');

describe('the stack of an error', () => {
  it('has the frames of libraries folded, and those of the program not', () => {
    const stack = [
      'CardDeclined: No money',
      '    at charge (/app/dist/card.js:3:9)',
      '    at query (/app/node_modules/pg/lib/client.js:526:17)',
      '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
      `    at Executor.run (${OURS}:1:2)`,
      '    at handle (file:///app/dist/jobs.js:12:3)',
      'Caused by: Error: read ECONNRESET',
      '    at Socket.onread (node:net:12:1)',
    ];

    expect(foldedStack(stack.join('\n')).split('\n')).toEqual([
      stack[0],
      stack[1],
      '    … 3 frames of libraries',
      stack[5],
      stack[6],
      '    … 1 frame of libraries',
    ]);
  });

  it('stays as it is if no frame is of the program, or there is no stack', () => {
    for (const text of ['Error: x\n    at Socket.onread (node:net:12:1)', 'Error: node: at home', ''])
      expect(foldedStack(text)).toBe(text);
  });
});
