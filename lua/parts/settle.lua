-- settle.lua: writes that a reservation was released or has failed.
--
--   after texts.lua, failed.lua, aside.lua

local function release(turn, queue, text, delay)
  local is_front = delay == 'front'
  local due = is_front and turn.moment or due_at(turn.moment, delay)
  if due <= turn.moment then
    call(is_front and 'LPUSH' or 'RPUSH', queue.ready, text)
    queue.filled = true
    return
  end
  queue.first_due = queue.first_due or call('ZCOUNT', queue.delayed, '-inf', '(' .. score(due)) == 0
  -- A twin that waits with the very same text would swallow this one: it goes on under an id of its own.
  if call('ZADD', queue.delayed, 'NX', score(due), text) == 0 then
    call('ZADD', queue.delayed, score(due), with_id(text, give_id(turn)))
  end
end

local function fail(turn, queue, text, id, meta)
  check_failed(queue.failed, queue.failed_jobs)
  -- Another job of the same id, which was kept before, stays.
  if call('ZSCORE', queue.failed, id) then id = give_id(turn) end
  keep_failed(queue.failed, queue.failed_jobs, id, turn.moment, meta, text)
end

-- Reads, asks whether it may remove, writes what is new, and removes last: refused anywhere, it leaves the job
-- reserved.
local function move(turn, queue, kind, at)
  local token = ARGV[at]
  ask_to_remove(queue.reserved)
  if not call('ZSCORE', queue.reserved, token) then return 0 end
  local text = sub(token, 1, tonumber(ARGV[at + 1])) .. ARGV[at + 2]
  if kind == 'failed' then fail(turn, queue, text, ARGV[at + 3], ARGV[at + 4])
  else release(turn, queue, text, ARGV[at + 3]) end
  return call('ZREM', queue.reserved, token)
end

-- Settles the outcome whose arguments begin at `at`. Answers as ZREM does: 1, 0 where the reservation is no longer
-- there, or an error.
local function settle(turn, queue, kind, at)
  local _, result = pcall(move, turn, queue, kind, at)
  return result
end
