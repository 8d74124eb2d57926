-- failed.lua: the failed store of a queue.

-- Raises an error, before anything is moved, if a key of the failed store has another type or may not be written.
local function check_failed(failed, failed_jobs)
  call('ZADD', failed, 'XX', 0, nobody())
  call('HGET', failed_jobs, '')
end

-- Keeps a job, replacing the entry with its id.
local function keep_failed(failed, failed_jobs, id, moment, meta, payload)
  call('HSET', failed_jobs, id, meta .. '\n' .. payload)
  call('ZADD', failed, score(moment), id)
end

-- The meta line and the payload of an entry. If somebody else wrote it without a line, all of it is the payload.
local function entry_parts(entry)
  local line_end = find(entry, '\n', 1, true) or 0
  return sub(entry, 1, line_end - 1), sub(entry, line_end + 1)
end
