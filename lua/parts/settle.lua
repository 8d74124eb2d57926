-- settle.lua: writes that a reservation was released or has failed, or has ended with jobs that follow it or with a
--   unique key.
--
--   after texts.lua, failed.lua, unique.lua, tied.lua, aside.lua, follow.lua

-- How many arguments an outcome has, without what its kind says it has beside.
local WIDTHS = { completed = 1, released = 4, failed = 5 }

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
-- reserved. `key`: which the job has, with its tie.
local function move(turn, queue, kind, at, followers, key, tie)
  local token = ARGV[at]
  ask_to_remove(queue.reserved)
  if not call('ZSCORE', queue.reserved, token) then return 0 end
  if kind == 'failed' then check_failed(queue.failed, queue.failed_jobs) end
  if followers then check_followers(turn, followers) end
  local held = key and ask_to_leave(turn.unique, { key }, { tie })
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
  free(turn.unique, held)
  if kind == 'released' then retake_released(turn, token, text) end
  return removed
end

-- Completed jobs of one queue, each of which is followed by one job that is ready at once in that queue: all in one, in
-- the same order as above.
local function go_on(turn, queue, first, count, width, key_at)
  local tokens = {}
  for i = 1, count do tokens[i] = ARGV[first + (i - 1) * width] end
  ask_to_remove(queue.reserved)
  local scores = call('ZMSCORE', queue.reserved, unpack(tokens))
  local results, gone, seen, texts, keys, ties = {}, {}, {}, {}, {}, {}
  for i = 1, count do
    local token, at = tokens[i], first + (i - 1) * width
    results[i] = scores[i] and not seen[token] and 1 or 0
    if results[i] == 1 then
      local place = #gone + 1
      seen[token], gone[place], texts[place] = true, token, ARGV[at + 1]
      if key_at then keys[place], ties[place] = ARGV[at + key_at], ARGV[at + key_at + 1] end
    end
  end
  if #gone == 0 then return results end
  local held = key_at and ask_to_leave(turn.unique, keys, ties)
  -- This asks for itself whether it may be.
  call('RPUSH', queue.ready, unpack(texts))
  queue.filled = true
  call('ZREM', queue.reserved, unpack(gone))
  free(turn.unique, held)
  return results
end

-- Completed jobs of one queue that have a unique key and are not followed. Nothing new is written: so each is removed
-- as one without a key is, and nothing asks whether it may be.
local function end_unique(turn, queue, first, count)
  local keys, ties, results = {}, {}, {}
  for i = 1, count do keys[i], ties[i] = ARGV[first + 3 * i - 2], ARGV[first + 3 * i - 1] end
  local held = ask_to_leave(turn.unique, keys, ties)
  for i = 1, count do results[i] = redis.pcall('ZREM', queue.reserved, ARGV[first + 3 * (i - 1)]) end
  free(turn.unique, held, results)
  return results
end

-- Settles `count` outcomes of a kind, whose arguments begin at `first`, the first of them with the jobs that follow it.
-- Gives how many arguments each has, and answers for each as ZREM does: 1, 0 where the reservation is no longer there,
-- or an error.
local function settle(turn, queue, kind, first, count, followers)
  local outcome = string.match(kind, '^%a+')
  local is_followed, is_unique = find(kind, '+next', 1, true), find(kind, '+unique', 1, true)
  local width = WIDTHS[outcome] + (is_followed and 1 or 0)
  local key_at = is_unique and width
  if is_unique then width = width + 2 end
  local results = {}
  if outcome == 'completed' and not followers then
    local done, result = pcall(is_followed and go_on or end_unique, turn, queue, first, count, width, key_at)
    if done then return width, result end
    for i = 1, count do results[i] = result end
    return width, results
  end
  for i = 1, count do
    local at = first + (i - 1) * width
    local key, tie = key_at and ARGV[at + key_at], key_at and ARGV[at + key_at + 1]
    local _, result = pcall(move, turn, queue, outcome, at, i == 1 and followers or nil, key, tie)
    results[i] = result
  end
  return width, results
end
