-- settle.lua: writes that a reservation was released or has failed, or has ended with jobs that follow it.
--
--   after texts.lua, failed.lua, ties.lua, tied.lua, aside.lua, follow.lua

local function release(turn, queue, text, delay)
  local is_front = delay == 'front'
  local due = is_front and turn.moment or due_at(turn.moment, delay)
  if due <= turn.moment then
    call(is_front and 'LPUSH' or 'RPUSH', queue.ready, text)
    queue.filled = true
    return
  end
  make_wait(turn, queue, due, text, comes_first(queue, due))
end

-- Gives the id under which it is kept.
local function fail(turn, queue, text, id, meta)
  -- Another job of the same id, which was kept before, stays.
  if call('ZSCORE', queue.failed, id) then id = give_id(turn) end
  keep_failed(queue.failed, queue.failed_jobs, id, turn.moment, meta, text)
  return id
end

-- Reads, asks whether it may remove, writes what is new, and removes last: refused anywhere, it leaves the job
-- reserved.
local function move(turn, queue, kind, at, followers)
  local token = ARGV[at]
  ask_to_remove(queue.reserved)
  if not call('ZSCORE', queue.reserved, token) then return 0 end
  if kind == 'failed' then check_failed(queue.failed, queue.failed_jobs) end
  if followers then check_followers(turn, followers) end
  local tie = turn.ties and kind ~= 'released' and tie_of(token)
  if tie then call('HDEL', turn.unique, nobody()) end
  local text = kind ~= 'completed' and sub(token, 1, tonumber(ARGV[at + 1])) .. ARGV[at + 2]
  if kind == 'released' then release(turn, queue, text, ARGV[at + 3]) end
  local id = kind == 'failed' and fail(turn, queue, text, ARGV[at + 3], ARGV[at + 4])
  local done, problem = true, nil
  if followers then done, problem = pcall(write_followers, turn, followers) end
  if not done then
    -- With the next attempt it would be kept once more, under another id.
    if id then
      redis.pcall('ZREM', queue.failed, id)
      redis.pcall('HDEL', queue.failed_jobs, id)
    end
    error(problem)
  end
  local removed = call('ZREM', queue.reserved, token)
  if tie then leave(turn.unique, tie) end
  if kind == 'released' then retake_released(turn, token, text) end
  return removed
end

-- Settles the outcome whose arguments begin at `at`, with the jobs that follow it. Answers as ZREM does: 1, 0 where the
-- reservation is no longer there, or an error.
local function settle(turn, queue, kind, at, followers)
  local _, result = pcall(move, turn, queue, kind, at, followers)
  return result
end
