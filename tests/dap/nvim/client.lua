-- A debugger for tests in Neovim itself: hermit-dap as a job of vim.loop, DAP over its pipes, the cursor where the session stands, breakpoints where
-- signs are. `nvim --headless -u NONE -S client.lua` runs the scenario below; test_editors.py gives what is needed in HERMIT_DAP_SCENARIO.
local given = vim.fn.json_decode(vim.env.HERMIT_DAP_SCENARIO)
local LIMIT = 60000
local session = { seq = 0, answers = {}, events = {}, data = "" }

local function check(condition, ...)
	if not condition then
		error(table.concat(vim.tbl_map(vim.inspect, { ... }), " "), 2)
	end
	return condition
end

local function take()
	local head_end = session.data:find("\r\n\r\n", 1, true)
	if not head_end then
		return nil
	end
	local size = tonumber(session.data:match("^Content%-Length: (%d+)\r\n"))
	if #session.data < head_end + 3 + size then
		return nil
	end
	local text = session.data:sub(head_end + 4, head_end + 3 + size)
	session.data = session.data:sub(head_end + 4 + size)
	return vim.fn.json_decode(text)
end

local function receive(chunk)
	session.data = session.data .. chunk
	local message = take()
	while message do
		if message.type == "response" then
			session.answers[message.request_seq] = message
		elseif message.type == "event" then
			table.insert(session.events, message)
		end
		message = take()
	end
end

local function start()
	session.input, session.output = vim.loop.new_pipe(false), vim.loop.new_pipe(false)
	session.handle = check(vim.loop.spawn(given.adapter, { args = { "--stdio" }, stdio = { session.input, session.output, nil } }, function(code)
		session.status = code
	end))
	session.output:read_start(function(_, chunk)
		if chunk then
			vim.schedule(function()
				receive(chunk)
			end)
		else
			session.closed = true
		end
	end)
end

local function wait(what, look)
	local found
	check(vim.wait(LIMIT, function()
		found = look()
		return found ~= nil
	end, 5), "no " .. what, session.events)
	return found
end

local function request(command, arguments)
	session.seq = session.seq + 1
	local seq = session.seq
	local body = vim.fn.json_encode({ seq = seq, type = "request", command = command, arguments = arguments })
	session.input:write(("Content-Length: %d\r\n\r\n%s"):format(#body, body))
	local answer = wait("answer to " .. command, function()
		return session.answers[seq]
	end)
	check(answer.success, command, answer.message)
	return answer.body
end

local function event(name)
	return wait("event " .. name, function()
		for at, one in ipairs(session.events) do
			if one.event == name then
				table.remove(session.events, at)
				return one.body
			end
		end
	end)
end

-- Shows where the session stands: the file, and the cursor on the line.
local function show()
	session.thread = event("stopped").threadId
	session.frame = request("stackTrace", { threadId = session.thread, startFrame = 0, levels = 1 }).stackFrames[1]
	vim.cmd("edit " .. vim.fn.fnameescape(session.frame.source.path))
	vim.fn.cursor(session.frame.line, 1)
	return vim.fn.getline(".")
end

local function go(command, arguments)
	request(command, vim.tbl_extend("force", { threadId = session.thread }, arguments or {}))
	return show()
end

local function evaluate(expression, context)
	return request("evaluate", { expression = expression, frameId = session.frame.id, context = context }).result
end

-- Breakpoints are signs in the margin.
local function break_at(words)
	vim.fn.cursor(1, 1)
	local line = check(vim.fn.search("\\V" .. words), words) and vim.fn.line(".")
	vim.fn.sign_place(0, "hermit", "Break", vim.fn.bufnr("%"), { lnum = line })
	local lines = {}
	for _, sign in ipairs(vim.fn.sign_getplaced(vim.fn.bufnr("%"), { group = "hermit" })[1].signs) do
		table.insert(lines, { line = sign.lnum })
	end
	for _, one in ipairs(request("setBreakpoints", { source = { path = vim.fn.expand("%:p") }, breakpoints = lines }).breakpoints) do
		check(one.verified, one)
	end
end

local function scenario()
	vim.fn.sign_define("Break", { text = ">>" })
	start()
	check(request("initialize", { adapterID = "hermit", clientID = "neovim", linesStartAt1 = true, columnsStartAt1 = true, pathFormat = "path" }).supportsStepBack)
	request("launch", { recording = given.recordings.steps, stopAt = "main" })
	event("initialized")
	request("configurationDone", vim.empty_dict())
	check(show():find("first line"), session.frame)
	break_at("in square")
	check(go("continue"):find("in square"), session.frame)
	check(go("continue"):find("in square") and evaluate("n", "watch") == "1", evaluate("n", "watch"))
	check(go("reverseContinue"):find("in square") and evaluate("n", "hover") == "0", evaluate("n", "hover"))
	go("next")
	check(go("stepBack"):find("in square"), session.frame)
	break_at("the print")
	for _ = 1, 10 do
		go("continue")
	end
	check(vim.fn.getline("."):find("the print"), session.frame)
	evaluate("last-write p.x", "repl")
	check(show():find("the change"), session.frame)
	request("disconnect", vim.empty_dict())
	wait("end", function()
		return session.status
	end)
	check(session.status == 0, session.status)
end

local ok, why = xpcall(scenario, debug.traceback)
if not ok then
	io.stderr:write(why .. "\n")
end
vim.cmd(ok and "qall!" or "cquit 1")
