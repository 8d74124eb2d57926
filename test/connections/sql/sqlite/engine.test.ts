describe('the engine of SQLite', () => {
  afterEach(() => jest.dontMock('libsql'));

  it.each([
    [
      Object.assign(new Error("Cannot find module '@libsql/linux-x64-gnu'"), { code: 'MODULE_NOT_FOUND' }),
      'the package @libsql/linux-x64-gnu is not installed',
    ],
    [new Error('/app/node_modules/@libsql/x/index.node: invalid ELF header'), 'could not be loaded (/app/node_modules'],
  ])('is named if its native part is missing or for another machine: %s', (error, reason) => {
    expect.assertions(2);
    jest.isolateModules(() => {
      jest.doMock('libsql', () => {
        throw error;
      });
      const { openSqlite } = jest.requireActual<typeof import('../../../../src/connections/sql/sqlite/engine')>(
        '../../../../src/connections/sql/sqlite/engine',
      );
      const open = (): unknown => openSqlite('/nowhere.sqlite', 1);

      expect(open).toThrow(reason);
      expect(open).toThrow(expect.objectContaining({ code: 'E_SQLITE_ENGINE' }));
    });
  });
});
