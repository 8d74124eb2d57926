-- follow.lua: writes the jobs that follow an outcome, in the step that writes the outcome.
--
--   after texts.lua, aside.lua

-- Whether what is to wait becomes due before all that waits already.
local function comes_first(queue, due)
  return call('ZCOUNT', queue.delayed, '-inf', '(' .. score(due)) == 0
end

-- Has a text wait. A twin that waits with the very same text would swallow it: it goes on under an id of its own.
local function make_wait(turn, queue, due, text, is_first)
  queue.first_due = queue.first_due or is_first
  if call('ZADD', queue.delayed, 'NX', score(due), text) == 0 then
    call('ZADD', queue.delayed, score(due), with_id(text, give_id(turn)))
  end
end

-- Those whose arguments begin at `at`, all for one queue, behind those that were read before.
local function read_followers(followers, queue, at, count)
  followers = followers or {}
  for entry = at, at + 2 * (count - 1), 2 do
    followers[#followers + 1] = { queue = queue, delay = ARGV[entry], text = ARGV[entry + 1] }
  end
  return followers
end

-- Asks for all that may be refused, but the right to RPUSH: nothing asks for that without pushing something.
local function check_followers(turn, followers)
  for _, follower in ipairs(followers) do
    local due, queue = due_at(turn.moment, follower.delay), follower.queue
    if due <= turn.moment then
      call('LLEN', queue.ready)
    else
      -- A microsecond apart, so that what follows in order with one delay comes up in that order.
      turn.follows = (turn.follows or 0) + 1
      follower.due = due + turn.follows - 1
      call('ZADD', queue.delayed, 'XX', 0, nobody())
      follower.is_first = comes_first(queue, follower.due)
    end
  end
end

-- Those that are ready go first: refused the right to RPUSH, nothing is written.
local function write_followers(turn, followers)
  for _, follower in ipairs(followers) do
    if not follower.due then
      call('RPUSH', follower.queue.ready, follower.text)
      follower.queue.filled = true
    end
  end
  for _, follower in ipairs(followers) do
    local due = follower.due
    if due then make_wait(turn, follower.queue, due, follower.text, follower.is_first) end
  end
end
