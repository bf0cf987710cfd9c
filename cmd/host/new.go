package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"reprise/guest-sdk/project"
)

func (p *program) newProject() *cli.Command {
	langs := strings.Join(project.Starters(), ", ")
	c := &cli.Command{
		Name:  "new",
		Usage: "make a project that builds, is tested and runs",
		Description: "The project is a folder NAME with a workflow, its cases for reprise test, a Makefile, a README, and the SDK: nothing is fetched from a" +
			" registry. What is there already is left alone, and a project that cannot be made whole is not made. stdout: the folder.",
		Flags: []cli.Flag{&cli.StringFlag{Name: "lang", Usage: "its language: " + langs}},
	}
	c.Action = func(ctx *cli.Context) error {
		name := ctx.Args().First()
		if err := project.New(".", name, ctx.String("lang")); err != nil {
			return err
		}
		fmt.Fprintln(p.stdout, name)
		fmt.Fprintf(p.stderr, "test it   reprise test %s\nbuild it  reprise build %s\nrun it    reprise dev --watch %s\n          reprise run start %s -i '{\"name\":\"Ada\"}' --wait\n", name, name, name, name)
		return nil
	}
	return leaf(c, "NAME")
}
