exports.default = { connections: { main: { driver: 'database', url: process.env.DATABASE_URL } } };
