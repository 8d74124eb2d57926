import { defineConfig } from 'onqueue';
import { Greet } from './jobs';

export const configuration = defineConfig({
  connections: { redis: { driver: 'redis', url: process.env['REDIS_URL'] ?? '' } },
  jobs: [Greet],
});
