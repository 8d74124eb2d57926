import { defineConfig } from 'onqueue';
import { Greet } from '#jobs/greet.js';

export default defineConfig({
  connections: { redis: { driver: 'redis', url: process.env['REDIS_URL'] ?? '' } },
  jobs: [Greet],
});
